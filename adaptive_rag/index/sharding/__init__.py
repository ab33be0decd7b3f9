"""An index of shards: several indexes, each on any machine, that one question asks side by side."""
