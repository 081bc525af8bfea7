"""The command line: ``siltstone ls | show | cat | count | history | files | create | compact | demo | version``."""
