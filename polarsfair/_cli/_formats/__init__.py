"""The formats of lakes: by suffix, and how those other than Parquet are scanned."""
