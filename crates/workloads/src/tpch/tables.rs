//! The eight tables of TPC-H, with the types of its specification.

/// A table of TPC-H.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns: the name, and the type with constraint in PostgreSQL's syntax.
    pub columns: &'static [(&'static str, &'static str)],
    /// The column by which the table is partitioned; `None` for the two small tables.
    pub partition_by: Option<&'static str>,
}

/// The table of this name.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

const KEY: &str = "bigint not null";
const NUMBER: &str = "integer not null";
const MONEY: &str = "numeric(15,2) not null";
const DATE: &str = "date not null";

/// All tables, the largest first.
pub static TABLES: [Table; 8] = [
    LINEITEM, ORDERS, PARTSUPP, PART, CUSTOMER, SUPPLIER, NATION, REGION,
];

/// The lines of orders: about 6,000,000 rows at scale 1.
pub const LINEITEM: Table = Table {
    name: "lineitem",
    columns: &[
        ("l_orderkey", KEY),
        ("l_partkey", KEY),
        ("l_suppkey", KEY),
        ("l_linenumber", NUMBER),
        ("l_quantity", MONEY),
        ("l_extendedprice", MONEY),
        ("l_discount", MONEY),
        ("l_tax", MONEY),
        ("l_returnflag", "char(1) not null"),
        ("l_linestatus", "char(1) not null"),
        ("l_shipdate", DATE),
        ("l_commitdate", DATE),
        ("l_receiptdate", DATE),
        ("l_shipinstruct", "char(25) not null"),
        ("l_shipmode", "char(10) not null"),
        ("l_comment", "varchar(44) not null"),
    ],
    partition_by: Some("l_orderkey"),
};

/// Orders: 1,500,000 rows at scale 1.
pub const ORDERS: Table = Table {
    name: "orders",
    columns: &[
        ("o_orderkey", KEY),
        ("o_custkey", KEY),
        ("o_orderstatus", "char(1) not null"),
        ("o_totalprice", MONEY),
        ("o_orderdate", DATE),
        ("o_orderpriority", "char(15) not null"),
        ("o_clerk", "char(15) not null"),
        ("o_shippriority", NUMBER),
        ("o_comment", "varchar(79) not null"),
    ],
    partition_by: Some("o_orderkey"),
};

/// The suppliers of each part: 800,000 rows at scale 1.
pub const PARTSUPP: Table = Table {
    name: "partsupp",
    columns: &[
        ("ps_partkey", KEY),
        ("ps_suppkey", KEY),
        ("ps_availqty", NUMBER),
        ("ps_supplycost", MONEY),
        ("ps_comment", "varchar(199) not null"),
    ],
    partition_by: Some("ps_partkey"),
};

/// Parts: 200,000 rows at scale 1.
pub const PART: Table = Table {
    name: "part",
    columns: &[
        ("p_partkey", KEY),
        ("p_name", "varchar(55) not null"),
        ("p_mfgr", "char(25) not null"),
        ("p_brand", "char(10) not null"),
        ("p_type", "varchar(25) not null"),
        ("p_size", NUMBER),
        ("p_container", "char(10) not null"),
        ("p_retailprice", MONEY),
        ("p_comment", "varchar(23) not null"),
    ],
    partition_by: Some("p_partkey"),
};

/// Customers: 150,000 rows at scale 1.
pub const CUSTOMER: Table = Table {
    name: "customer",
    columns: &[
        ("c_custkey", KEY),
        ("c_name", "varchar(25) not null"),
        ("c_address", "varchar(40) not null"),
        ("c_nationkey", KEY),
        ("c_phone", "char(15) not null"),
        ("c_acctbal", MONEY),
        ("c_mktsegment", "char(10) not null"),
        ("c_comment", "varchar(117) not null"),
    ],
    partition_by: Some("c_custkey"),
};

/// Suppliers: 10,000 rows at scale 1.
pub const SUPPLIER: Table = Table {
    name: "supplier",
    columns: &[
        ("s_suppkey", KEY),
        ("s_name", "char(25) not null"),
        ("s_address", "varchar(40) not null"),
        ("s_nationkey", KEY),
        ("s_phone", "char(15) not null"),
        ("s_acctbal", MONEY),
        ("s_comment", "varchar(101) not null"),
    ],
    partition_by: Some("s_suppkey"),
};

/// Nations: 25 rows at any scale.
pub const NATION: Table = Table {
    name: "nation",
    columns: &[
        ("n_nationkey", KEY),
        ("n_name", "char(25) not null"),
        ("n_regionkey", KEY),
        ("n_comment", "varchar(152) not null"),
    ],
    partition_by: None,
};

/// Regions: 5 rows at any scale.
pub const REGION: Table = Table {
    name: "region",
    columns: &[
        ("r_regionkey", KEY),
        ("r_name", "char(25) not null"),
        ("r_comment", "varchar(152) not null"),
    ],
    partition_by: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_keys_are_columns() {
        for table in TABLES {
            let Some(key) = table.partition_by else {
                continue;
            };
            assert_eq!(table.columns[0], (key, KEY), "{}", table.name);
        }
    }

    #[test]
    fn tables_are_found_by_their_names() {
        assert_eq!(table("region").map(|table| table.columns.len()), Some(3));
        assert!(table("lineitems").is_none());
        let columns: usize = TABLES.iter().map(|table| table.columns.len()).sum();
        assert_eq!(columns, 61);
    }
}
