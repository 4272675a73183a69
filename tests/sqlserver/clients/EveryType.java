// Loads the table by mssql-jdbc (SQLServerBulkCopy), which asks the server for the columns' types.

import com.microsoft.sqlserver.jdbc.ISQLServerBulkData;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Arguments: the port, and a file of lines: a column's name, its type, and its values, each ended by a tab. */
public final class EveryType {
    private record Column(String name, String kind, int precision, int scale, String[] texts) {
        int jdbcType() {
            return switch (kind) {
                case "tinyint" -> Types.TINYINT;
                case "smallint" -> Types.SMALLINT;
                case "int" -> Types.INTEGER;
                case "bigint" -> Types.BIGINT;
                case "bit" -> Types.BIT;
                case "real" -> Types.REAL;
                case "float" -> Types.DOUBLE;
                case "decimal" -> Types.DECIMAL;
                case "date" -> Types.DATE;
                case "time" -> Types.TIME;
                case "datetime2" -> Types.TIMESTAMP;
                case "datetime" -> microsoft.sql.Types.DATETIME;
                case "smalldatetime" -> microsoft.sql.Types.SMALLDATETIME;
                case "char" -> Types.CHAR;
                case "varchar" -> precision > 8000 ? Types.LONGVARCHAR : Types.VARCHAR;
                case "nchar" -> Types.NCHAR;
                case "nvarchar" -> precision > 4000 ? Types.LONGNVARCHAR : Types.NVARCHAR;
                case "binary" -> Types.BINARY;
                case "varbinary" -> precision > 8000 ? Types.LONGVARBINARY : Types.VARBINARY;
                case "uniqueidentifier" -> microsoft.sql.Types.GUID;
                default -> throw new IllegalArgumentException(kind);
            };
        }

        Object value(int row) {
            String text = texts[row];
            if (text.equals("\\N")) {
                return null;
            }
            return switch (kind) {
                case "tinyint", "smallint" -> Short.valueOf(text);
                case "int" -> Integer.valueOf(text);
                case "bigint" -> Long.valueOf(text);
                case "bit" -> text.equals("1");
                case "real" -> Float.valueOf(text);
                case "float" -> Double.valueOf(text);
                case "decimal" -> new java.math.BigDecimal(text);
                case "binary", "varbinary" -> java.util.HexFormat.of().parseHex(text);
                // Texts, as a file would have them: times keep their fraction so.
                default -> text;
            };
        }
    }

    private static final class Rows implements ISQLServerBulkData {
        private final List<Column> columns;
        private int row = -1;

        Rows(List<Column> columns) {
            this.columns = columns;
        }

        @Override
        public Set<Integer> getColumnOrdinals() {
            Set<Integer> ordinals = new TreeSet<>();
            for (int index = 1; index <= columns.size(); index++) {
                ordinals.add(index);
            }
            return ordinals;
        }

        @Override
        public String getColumnName(int ordinal) {
            return columns.get(ordinal - 1).name();
        }

        @Override
        public int getColumnType(int ordinal) {
            return columns.get(ordinal - 1).jdbcType();
        }

        @Override
        public int getPrecision(int ordinal) {
            return columns.get(ordinal - 1).precision();
        }

        @Override
        public int getScale(int ordinal) {
            return columns.get(ordinal - 1).scale();
        }

        @Override
        public Object[] getRowData() {
            return columns.stream().map(column -> column.value(row)).toArray();
        }

        @Override
        public boolean next() {
            row++;
            return row < columns.get(0).texts().length;
        }
    }

    private static Column column(String line) {
        String[] fields = line.split("\t", -1);
        String[] sizes = fields[1].replaceAll(".*\\(|\\)", "").split(",");
        String kind = fields[1].replaceAll("\\(.*", "");
        boolean hasSizes = fields[1].contains("(");
        boolean isTime = kind.equals("time") || kind.equals("datetime2");
        int first = !hasSizes ? 0 : sizes[0].equals("max") ? Integer.MAX_VALUE : Integer.parseInt(sizes[0]);
        int scale = isTime ? first : sizes.length > 1 ? Integer.parseInt(sizes[1]) : 0;
        int precision = isTime ? 27 : hasSizes ? first : 36;
        String[] texts = java.util.Arrays.copyOfRange(fields, 2, fields.length);
        return new Column(fields[0], kind, precision, scale, texts);
    }

    public static void main(String[] arguments) throws Exception {
        List<Column> columns = new ArrayList<>();
        List<String> lines = Files.readAllLines(Path.of(arguments[1]));
        for (String line : lines.subList(1, lines.size())) {
            columns.add(column(line));
        }
        String url = "jdbc:sqlserver://127.0.0.1:" + arguments[0] + ";databaseName=every_type;user=sa;password=password;encrypt=false";
        try (Connection connection = DriverManager.getConnection(url);
                SQLServerBulkCopy load = new SQLServerBulkCopy(connection)) {
            SQLServerBulkCopyOptions options = new SQLServerBulkCopyOptions();
            options.setKeepNulls(true);
            load.setBulkCopyOptions(options);
            load.setDestinationTableName(lines.get(0));
            load.writeToServer(new Rows(columns));
        }
    }
}
