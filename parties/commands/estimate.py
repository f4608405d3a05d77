"""`smc estimate`: forecast cost of a job on every engine, before it runs and without a peer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from parties.base import console
from parties.base.report import Report
from parties.base.settings import merge
from parties.commands.brief_help import BriefCommand, example_line
from parties.commands.holders import COUNTED, holder_options, number_of_givers, part_of_holder
from parties.commands.kinds import missing_by_flag, options_of, read_flags
from parties.commands.options import FILE, TABLE, ProgramCommand, program_arguments
from parties.commands.own_table import by_table, chosen
from parties.commands.run import PROFILE, RunSettings
from parties.commands.signature import by_signature
from parties.jobs import kinds
from parties.jobs.execution import profiles
from parties.jobs.execution.engine_selection import tiny, valued
from parties.jobs.inputs import Inputs
from parties.jobs.kind import Counted, KindSettings
from parties.jobs.settings import ENGINE, Parameter, parameters
from parties.jobs.small.programs import arguments_of, check_arguments, load_program
from parties.jobs.tabular import BySchema, TabularSettings, with_holders
from parties.link.pace import USUAL, own_pace, own_pace_of
from parties.party_file import load
from protocols.shares import sent
from smc.counting import Forecast, forecasts
from smc.counting.rates import LOAD_SECONDS, START_SECONDS
from smc.engines import Profile
from smc.errors import InputError
from smc.link_shape import LinkShape

_LINK: Any = click.option(
    "--link",
    default="loopback",
    metavar="LINK",
    help="Link to predict seconds for: loopback, lan, wan, or RATE,ROUND-TRIP[,WINDOW] such as "
    "100mbit,40ms  [loopback]",
)
_CONFIG = click.option(
    "--config", "config_file", type=FILE, help="party.toml: take the schema and the row bound from its table."
)

PROFILES = {
    "engine": "{engine}",
    "OT": "{ot}",
    "garbling": "{garbling}",
    "circuits": "{form}",
    "AND gates": ">{and_gates:,}",
    "party 0 sends": ">{party0_sends:size}",
    "party 1 sends": ">{party1_sends:size}",
}
COSTS = {"messages": ">{messages:,}", "rounds": ">{party0_rounds:,}, {party1_rounds:,}", "time": ">{seconds:time}"}


class _Estimates(click.Group):
    """Command group: a command that estimates the cost for each kind of job, and `run` for any program."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Join the two words of a kind in a group to one name: `smc estimate release sum`."""
        return super().resolve_command(ctx, kinds.with_one_name(args))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*kinds.names(), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands or not kinds.is_known(cmd_name):
            return super().get_command(ctx, cmd_name)
        return _estimate_of(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = [(name, kinds.line(name)) for name in kinds.names()]
        with formatter.section("Commands"):
            formatter.write_dl(
                [*lines, *((name, command.get_short_help_str()) for name, command in self.commands.items())]
            )


@click.group("estimate", cls=_Estimates, epilog="Example:  smc estimate millionaires --link wan")
def group() -> None:
    """Estimate the cost of a job on every engine: AND gates, bytes each way, messages, rounds, seconds on a link.

    Nothing runs and you need no peer. The first line of output states how to read gates, bytes, messages and rounds
    (of party 0 and party 1). "exact": as the run will measure. "at most": no run costs more. "typical": a guess.
    Seconds are a prediction.
    """


@group.command(
    "run",
    cls=ProgramCommand,
    short_help="Run your own program on the engine.",
    epilog="Example:  smc estimate run protocols.equality:equal 0,0,0 --link wan",
)
@program_arguments
@click.option("--integers", is_flag=True, help="Count engines for integers too. Without it they are left out.")
@options_of(PROFILE)
@by_signature
def run_command(program: str, arguments: tuple[str, ...], integers: bool, link: str = _LINK, **flags: Any) -> Report:
    """Estimate smc run for any program written against the engine. Opened values count as zeros.

    The arguments are those of `smc run`. The estimate is exact unless an opened value decides the next steps.
    """
    function, values = load_program(program), arguments_of(arguments)
    check_arguments(function, values)
    counted = Counted(lambda engine: function(engine, *values), "typical", "a run that opens zeros")
    return _report(counted, integers, 1, link, {}, _named(RunSettings.model_construct(), PROFILE, flags))


def _estimate_of(name: str) -> click.Command:
    kind = kinds.find(name)
    options = [option for option in parameters(kind.Settings) if _matters(option)]
    extra = list(parameters(kind.about.extra))
    engine = [option for option in parameters(kind.Settings) if option.key in ENGINE]

    @by_signature
    def estimate(
        link: str = _LINK,
        config_file: Path | None = None,
        table: str | None = None,
        holders: int | None = None,
        compute_only: bool = False,
        **flags: Any,
    ) -> Report:
        in_file = kind.Settings()
        if config_file is not None:
            file = load(config_file)
            in_file = file.of_kind(name)
            assert isinstance(in_file, TabularSettings)
            source = file.tables[chosen(table, file.tables, config_file)]
            in_file = by_table(in_file, source).model_copy(update={"own_table": source})
        settings = merge(in_file, read_flags(options, {k: v for k, v in flags.items() if k in _names(options)}))
        beside = merge(kind.about.extra(), read_flags(extra, {k: v for k, v in flags.items() if k in _names(extra)}))
        givers = number_of_givers(holders, compute_only)
        if givers is not None:
            assert isinstance(settings, TabularSettings)
            settings = with_holders(settings, givers)
        with missing_by_flag(options):
            task = kind.planned(settings)
        if givers is not None:
            task.take_shares()
        shards = profiles.shards_of(task.specification())
        named = _named(kind.Settings.model_construct(), engine, flags)
        by_itself = task.own_seconds() if isinstance(task, BySchema) and not compute_only else {}
        warnings = task.warnings if isinstance(task, BySchema) else []
        counted = task.cost_of_run(Inputs(), beside)
        return _report(counted, kind.about.integers, shards, link, by_itself, named, givers is not None, warnings)

    help_ = (
        f"Estimate the cost of `smc {name}`: {kinds.line(name)} The first line of output states whether the costs are "
        "exact, at most, or typical."
    )
    example = kind.about.estimate_example or kind.about.flags([option.flag for option in options])
    if issubclass(kind.Settings, TabularSettings):
        example = f"--schema schema.toml {example}" if "schema" in _names(options) else example
        estimate = TABLE(_CONFIG(holder_options(estimate, COUNTED)))
    epilog = example_line(f"smc estimate {name} {example} --link wan")
    return click.command(name, BriefCommand, help=help_, epilog=epilog)(
        options_of([*options, *extra, *engine])(estimate)
    )


def _named(settings: KindSettings, options: list[Parameter], flags: Mapping[str, Any]) -> Profile | None:
    """Return the profile that flags select; None for the engine auto."""
    chosen = {name: value for name, value in flags.items() if name in _names(options) and value is not None}
    if not chosen:
        return None
    merged = merge(settings, read_flags(options, {option.variable: None for option in options} | chosen))
    profile = profiles.named({name: getattr(merged, name) for name in ENGINE})
    if profile is not None and profile.recipe.security is None:
        raise InputError(f"--engine: {profile.engine} has no protection and no cost to count; give another engine")
    return profile


def _matters(option: Parameter) -> bool:
    """Return whether a parameter affects the forecast: private values and settings of the run itself do not."""
    return not (option.node or option.data or option.is_engine) and option.role in ("public", "hand", "file")


def _names(options: Sequence[Parameter]) -> set[str]:
    return {option.variable for option in options}


def _report(
    counted: Counted,
    integers: bool,
    shards: int,
    link: str,
    by_itself: Mapping[str, float],
    named: Profile | None,
    has_holders: bool = False,
    warnings: Sequence[str] = (),
) -> Report:
    """Return the report: the costs of the named profile or of all, the best by `valued` first, and its work.

    Seconds are for this machine. "counting what suits" is the time in which a run counts the profiles to choose from;
    if garbled circuits settle the choice, without the others.
    """
    shape, chosen = LinkShape.parse(link), profiles.contenders(integers, shards)
    pace = (own_pace_of(named.ot) if named else own_pace()) / USUAL
    every = profiles.in_shards((named,) if named else profiles.profiles(integers), shards)
    chosen = every if named else chosen
    rows: list[dict[str, Any]] = []
    garbled: list[Forecast] = []
    counting = {"garbled": 0.0, "others": 0.0, "bound": 0.0}
    with console.progress("counting") as progress:
        began = time.process_time()
        for counts in forecasts(
            counted.program,
            sorted(every, key=lambda profile: profile not in chosen),
            lambda profile: progress.doing(f"counting: {profile}"),
        ):
            ended = time.process_time()
            if counts.profile in chosen:
                counting["garbled" if counts.profile.garbles else "others"] += ended - began
                garbled += [counts] if counts.profile.garbles else []
            rows.append(_fields(counts, shape, pace) | {"at_most": counted.most(counts.profile)})
            began = time.process_time()
            counting["bound"] = max(counting["bound"], began - ended)
    if garbled and tiny(tuple(garbled)) is not None:
        del counting["others"]
    start = START_SECONDS + (LOAD_SECONDS if by_itself else 0.0)
    besides = {"start": start, "counting what suits": round(sum(counting.values()), 3), **by_itself}
    rows.sort(key=lambda row: valued(row["seconds"], row["party0_sends"] + row["party1_sends"]))
    head: dict[str, Any] = {"link": str(shape), "estimate": counted.estimate, "of": counted.assumed}
    if has_holders:
        asked = counted.asked()
        head["holder"] = dict(zip(("questions", "party0_gets", "party1_gets"), (len(asked), *sent(asked)), strict=True))
    head |= {"warnings": [*warnings]} if warnings else {}
    report = Report({**head, "besides": besides, "estimates": rows})
    bounded = any(row["at_most"] is not None for row in rows)
    report.table(
        PROFILES
        | ({"gates": "{gates}"} if named and named.gates else {})
        | ({"both at most": ">{at_most:size}"} if bounded else {})
        | COSTS,
        rows,
        f"on {shape}; {counted}",
    )
    memory = f"; memory of a shard: about {console.size(rows[0]['shard_bytes'])}" if shards > 1 else ""
    for line in [*warnings, *([part_of_holder(asked)] if has_holders else [])]:
        report.line(line)
    report.line(
        f"seconds of the first line: {_in_seconds(rows[0]['work'])}; in addition, at most: "
        f"{_in_seconds(besides)}{memory}"
    )
    return report


def _in_seconds(lines: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {console.estimated(seconds)}" for name, seconds in lines.items())


def _fields(counts: Forecast, shape: LinkShape, pace: float) -> dict[str, Any]:
    profile, (first, second) = counts.profile, counts.costs
    return {
        "engine": profile.engine,
        "ot": profile.ot,
        "garbling": profile.garbling if profile.garbles else None,
        "form": profile.form,
        **({"gates": profile.gates} if profile.gates else {}),
        "and_gates": first.and_gates,
        "party0_sends": first.bytes_sent,
        "party1_sends": second.bytes_sent,
        "messages": first.messages,
        "party0_rounds": first.rounds,
        "party1_rounds": second.rounds,
        "seconds": round(counts.seconds(shape, pace), 6),
        **({"shard_bytes": counts.shard_bytes} if profile.shards > 1 else {}),
        "work": {name: round(seconds, 6) for name, seconds in counts.lines(pace).items()},
    }
