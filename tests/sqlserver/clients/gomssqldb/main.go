// Loads the table by go-mssqldb (CopyIn), which asks the server for the columns' types.
package main

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

type column struct {
	Name  string
	SQL   string
	Texts []*string
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The text of table.json as the value that go-mssqldb takes.
func value(kind string, text *string) any {
	if text == nil {
		return nil
	}
	switch kind {
	case "tinyint", "smallint", "int", "bigint":
		number, err := strconv.ParseInt(*text, 10, 64)
		check(err)
		return number
	case "bit":
		return *text == "1"
	case "real", "float":
		number, err := strconv.ParseFloat(*text, 64)
		check(err)
		return number
	case "date", "time", "datetime2", "datetime", "smalldatetime":
		layout := map[string]string{"date": "2006-01-02", "time": "15:04:05"}[kind]
		if layout == "" {
			layout = "2006-01-02 15:04:05"
		}
		moment, err := time.ParseInLocation(layout, *text, time.UTC)
		check(err)
		return moment
	case "binary", "varbinary":
		bytes, err := hex.DecodeString(*text)
		check(err)
		return bytes
	case "uniqueidentifier":
		var id mssql.UniqueIdentifier
		check(id.Scan(*text))
		bytes, err := id.Value()
		check(err)
		return bytes
	}
	return *text
}

func main() {
	file, err := os.ReadFile(os.Args[2])
	check(err)
	var table struct {
		Table   string
		Columns []column
	}
	check(json.Unmarshal(file, &table))
	db, err := sql.Open("sqlserver", "sqlserver://sa:password@127.0.0.1:"+os.Args[1]+"?database=every_type&encrypt=disable")
	check(err)
	defer db.Close()
	var names []string
	for _, column := range table.Columns {
		names = append(names, column.Name)
	}
	transaction, err := db.Begin()
	check(err)
	load, err := transaction.Prepare(mssql.CopyIn(table.Table, mssql.BulkOptions{KeepNulls: true}, names...))
	check(err)
	for row := range table.Columns[0].Texts {
		var values []any
		for _, column := range table.Columns {
			kind, _, _ := strings.Cut(column.SQL, "(")
			values = append(values, value(kind, column.Texts[row]))
		}
		_, err = load.Exec(values...)
		check(err)
	}
	_, err = load.Exec()
	check(err)
	check(load.Close())
	check(transaction.Commit())
}
