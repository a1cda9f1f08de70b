"""The subcommands of ``flake8-inplace``, a module each with a function ``main(arguments) -> exit status``."""
