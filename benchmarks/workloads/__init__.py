"""The workloads of the suite, in the order in which it runs them."""

from workloads import lineitem, narrow, plain, quoted, rejects, routed, tpch, wide

ALL = {
    workload.name: workload
    for workload in (
        *lineitem.WORKLOADS,
        tpch.WORKLOAD,
        quoted.WORKLOAD,
        wide.WORKLOAD,
        narrow.WORKLOAD,
        rejects.WORKLOAD,
        *routed.WORKLOADS,
        *plain.WORKLOADS,
    )
}
