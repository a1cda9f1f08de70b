-- nvim --headless -u NONE -n net.py -c "luafile neovim.lua": open a file, show what is found, choose the first action.
local config = { name = "flake8-inplace", cmd = { "flake8-inplace", "server" }, root_dir = vim.fn.getcwd() }

local function say(...)
  io.stdout:write(string.format(...), "\n")
end

local function await(what, ready)
  if not vim.wait(60000, ready, 20) then
    say("no %s", what)
    vim.cmd("cquit")
  end
end

local function show(found)
  for _, each in ipairs(found) do
    say("%d:%d-%d %s %s", each.lnum + 1, each.col + 1, each.end_col + 1, each.code or "", each.message)
  end
end

vim.ui.select = function(actions, options, choose)
  for number, each in ipairs(actions) do
    local action = each.action or each[2] -- a pair of client and action in neovim 0.7
    say("action %d: %s%s", number, action.title, action.isPreferred and " (preferred)" or "")
  end
  choose(actions[1], 1)
end

if vim.lsp.start then
  vim.lsp.start(config)
else -- neovim 0.7
  vim.lsp.buf_attach_client(0, vim.lsp.start_client(config))
end

await("diagnostic", function() return #vim.diagnostic.get(0) > 0 end)
local found = vim.diagnostic.get(0)
show(found)
vim.api.nvim_win_set_cursor(0, { found[1].lnum + 1, found[1].col })
local before = vim.api.nvim_buf_get_changedtick(0)
vim.lsp.buf.code_action()
await("edit", function() return vim.api.nvim_buf_get_changedtick(0) > before end)
await("end of the diagnostic", function() return #vim.diagnostic.get(0) == 0 end)
say("line %d: %s", found[1].lnum + 1, vim.api.nvim_buf_get_lines(0, found[1].lnum, found[1].lnum + 1, true)[1])
vim.cmd("silent write")
vim.cmd("quitall")
