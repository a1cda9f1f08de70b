from dock import terms, energies
