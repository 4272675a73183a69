// Loads lineitem by go-mssqldb (CopyIn): PORT TLS COLUMNS FILE, the columns as JSON.
package main

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The field as the value that go-mssqldb takes; decimals are texts there.
func value(kind, text string) any {
	switch kind {
	case "bigint", "integer":
		number, err := strconv.ParseInt(text, 10, 64)
		check(err)
		return number
	case "date":
		day, err := time.ParseInLocation("2006-01-02", text, time.UTC)
		check(err)
		return day
	}
	return text
}

func main() {
	var columns [][2]string
	check(json.Unmarshal([]byte(os.Args[3]), &columns))
	encrypt := "disable"
	if os.Args[2] == "tls" {
		encrypt = "true&TrustServerCertificate=true"
	}
	db, err := sql.Open("sqlserver", "sqlserver://sa:password@127.0.0.1:"+os.Args[1]+
		"?database=test&packet+size=32767&encrypt="+encrypt)
	check(err)
	defer db.Close()
	var names, kinds []string
	for _, column := range columns {
		names = append(names, column[0])
		kinds = append(kinds, column[1])
	}
	transaction, err := db.Begin()
	check(err)
	load, err := transaction.Prepare(mssql.CopyIn("lineitem", mssql.BulkOptions{KeepNulls: true, Tablock: true}, names...))
	check(err)
	file, err := os.Open(os.Args[4])
	check(err)
	lines := bufio.NewScanner(file)
	values := make([]any, len(names))
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "|")
		for index, kind := range kinds {
			values[index] = value(kind, fields[index])
		}
		_, err = load.Exec(values...)
		check(err)
	}
	check(lines.Err())
	_, err = load.Exec()
	check(err)
	check(load.Close())
	check(transaction.Commit())
}
