"""Tags of notebook cells that mean something here, as papermill and Quarto know them."""

PARAMETERS, INJECTED, REMOVE = "parameters", "injected-parameters", "remove-cell"
