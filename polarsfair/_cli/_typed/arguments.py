"""The arguments and flags of the commands; those of roles are generated from the roles."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from polarsfair._cli._typed import completion

Lake: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="LAKE",
        help=(
            "Files of one format (.parquet, .csv, .ndjson, .jsonl, .arrow, .ipc, .feather), globs,"
            " directories with hive partitions, or object-store URLs."
        ),
    ),
]
Tables: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE",
        help=(
            "Tables that `polarsfair tally` has written; of several tallies: fairness.scores=FILES."
        ),
    ),
]
Metrics: TypeAlias = Annotated[
    list[str],
    typer.Option(
        help="Metrics, separated by commas or repeated: stat_parity, fairness.f1, ratio(accuracy).",
        autocompletion=completion.metrics,
    ),
]
SomeMetrics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics",
        help="Metrics, for functions that evaluate some.",
        autocompletion=completion.metrics,
    ),
]
By: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help='Slices, separated by commas or repeated; SQL as "CAST(time AS DATE) AS day".'
    ),
]
Ref: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The reference group: M; sex=M,race=white for an intersection; overall; rest"
        " (a group whose name is literally that: sex=rest)."
    ),
]
Depths: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("-k", metavar="K", help="Depths of lists: 5,10; all is the whole list."),
]
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of the metrics: alpha=1, reduce=max."),
]
Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Write the result to FILE.parquet, .csv, .ndjson, .arrow or .json.", metavar="FILE"
    ),
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace the file of --out if it exists.")
]
TallyName: TypeAlias = Annotated[
    str,
    typer.Option(
        help="The kind of table; `polarsfair metrics NAME` shows which one a metric reads.",
        autocompletion=completion.tallies,
    ),
]
FunctionName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A function that returns a frame: roc, ranking.support, choose_k.",
        autocompletion=completion.functions,
    ),
]
Word: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="WORD",
        help="A metric, function, family or name elsewhere (ndcg, fairness, tpr), or any word.",
        autocompletion=completion.words,
    ),
]
