"""The server extension: its rows are COPY's, byte for byte, and so are its errors."""
