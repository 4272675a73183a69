module inrush.example/load

go 1.23

require github.com/microsoft/go-mssqldb v1.11.2
