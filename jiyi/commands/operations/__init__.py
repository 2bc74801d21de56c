"""Commands for operators: runs, keys, users, erasures, benchmarks, the record's encryption."""
