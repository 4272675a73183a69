"""How foreign clients send a bulk load to SQL Server, recorded."""
