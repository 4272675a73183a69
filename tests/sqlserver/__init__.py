"""Records of how foreign clients send a bulk load to SQL Server."""
