"""The command line: ``siltstone ls | show | cat | count | history | files | compact | demo | version``."""
