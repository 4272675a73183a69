// Loads the table by tedious (`newBulkLoad`), which takes the columns' types from its caller.
'use strict';

const fs = require('node:fs');
const { Connection, TYPES } = require('tedious');

const [, , port, tableFile] = process.argv;
const table = JSON.parse(fs.readFileSync(tableFile, 'utf8'));

const TYPE_OF = {
  tinyint: 'TinyInt', smallint: 'SmallInt', int: 'Int', bigint: 'BigInt', bit: 'Bit', real: 'Real', float: 'Float',
  decimal: 'Decimal', date: 'Date', time: 'Time', datetime2: 'DateTime2', datetime: 'DateTime',
  smalldatetime: 'SmallDateTime', char: 'Char', varchar: 'VarChar', nchar: 'NChar', nvarchar: 'NVarChar',
  binary: 'Binary', varbinary: 'VarBinary', uniqueidentifier: 'UniqueIdentifier',
};

function parsed(sql) {
  const [, name, , sizes] = /^(\w+)(\((.*)\))?$/.exec(sql);
  const [first, second] = (sizes ?? '').split(',');
  const options = {};
  if (name === 'decimal') Object.assign(options, { precision: Number(first), scale: Number(second) });
  else if (name === 'time' || name === 'datetime2') options.scale = Number(first);
  else if (first === 'max') options.length = Infinity;
  else if (first) options.length = Number(first);
  return [name, options];
}

// The text of table.json as the value that tedious takes.
function value(name, text) {
  if (text === null) return null;
  switch (name) {
    case 'bit': return text === '1';
    case 'bigint': return text;
    case 'tinyint': case 'smallint': case 'int': case 'real': case 'float': case 'decimal': return Number(text);
    case 'date': return new Date(`${text}T00:00:00Z`);
    case 'time': return new Date(`1970-01-01T${text}Z`);
    case 'datetime2': case 'datetime': case 'smalldatetime': return new Date(`${text.replace(' ', 'T')}Z`);
    case 'binary': case 'varbinary': return Buffer.from(text, 'hex');
    default: return text;
  }
}

// A Number has 53 bits: other clients load the decimals that it cannot hold.
const columns = table.columns.filter((column) => !['c_decimal_28', 'c_decimal_38'].includes(column.name));
const connection = new Connection({
  server: '127.0.0.1',
  authentication: { type: 'default', options: { userName: 'sa', password: 'password' } },
  options: { port: Number(port), database: 'every_type', encrypt: false, useUTC: true },
});
connection.connect((error) => {
  if (error) throw error;
  const load = connection.newBulkLoad(table.table, { keepNulls: true }, (failure) => {
    if (failure) throw failure;
    connection.close();
  });
  for (const column of columns) {
    const [name, options] = parsed(column.sql);
    load.addColumn(column.name, TYPES[TYPE_OF[name]], { nullable: column.nullable, ...options });
  }
  const rows = table.columns[0].texts.map((_, row) =>
    columns.map((column) => value(parsed(column.sql)[0], column.texts[row])));
  connection.execBulkLoad(load, rows);
});
