"""Reading and writing table files: delimited text, Parquet, JSON, Excel."""
