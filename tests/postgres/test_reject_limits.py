"""Limits of rejects: a load that exceeds one changes no target."""

from __future__ import annotations

from typing import Any

from harness.command import CLEAN, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush
from harness.contents import state
from harness.packages import flow, package
from harness.servers import Database
from postgres.refusing import PARTITIONED


def test_the_limit_holds_for_what_the_server_refuses(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute(PARTITIONED.format(name="t"))
    before = state(newest_database)
    rows = [f"1,{n},{n % 5}," for n in range(1, 30)]
    inrush.write("rows.csv", "\n".join(["k,id,amount,doc", *rows]) + "\n")
    for rows_max, place in ((0, "rows.csv:6"), (4, "rows.csv:26")):
        text = package(
            newest_database.url,
            flow("t", "rows.csv", mode="append", rejects={"rows_max": rows_max}),
        )
        outcome = inrush("run", inrush.write("package.toml", text))
        outcome.expect(REJECT_LIMIT, place, '"t_amount_check"', "CHECK ((amount <> 0))")
        print(outcome.said)
        assert state(newest_database) == before
    inrush.write("rows.csv", "k,id,amount,doc\n" + "\n".join(r for r in rows if ",0," not in r))
    inrush("run", "package.toml").expect(CLEAN)


def test_a_share_of_rows_may_be_rejected(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE t (n int, m int)")
    before = state(newest_database)
    rows = [f"{n},1" if n % 10 else "x,1" for n in range(1, 1001)]
    inrush.write("rows.csv", "n,m\n" + "\n".join(rows) + "\n")

    def run(share: float | int) -> Any:
        text = package(newest_database.url, flow("t", "rows.csv")) + (
            f"rejects = {{ share_max = {share} }}\n"
        )
        return inrush("run", inrush.write("package.toml", text))

    # The load stops as soon as it is certain to exceed the limit.
    run(0.001).expect(REJECT_LIMIT, "(or fewer)", "rows.csv:", "the limit is 0.1 %")
    assert state(newest_database) == before
    run(0.099).expect(REJECT_LIMIT, "100 of 1000 rows were rejected", "the limit is 9.9 %")
    assert state(newest_database) == before
    run(0.1).expect(LOADED_WITH_REJECTS)
    assert newest_database.value("SELECT count(*) FROM t") == 900
