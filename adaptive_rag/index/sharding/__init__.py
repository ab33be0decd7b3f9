"""An index of shards: several indexes, each on any machine, that are searched in parallel."""
