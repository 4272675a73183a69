"""The server extension: its rows and its errors equal those of COPY, byte for byte."""
