"""Questions over tables in other words than theirs."""
