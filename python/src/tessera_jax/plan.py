"""The plan of a program, as data and as text."""
from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Value:
  """An argument or a result of the program."""
  name: str  # as JAX calls it: "args[0]['kernel']"; empty where it is not known
  dtype: str
  shape: tuple[int, ...]  # global
  spec: str | None  # its partition over the mesh, "P('x', None)"; None on one device


@dataclasses.dataclass(frozen=True)
class CollectivePart:
  """One of several arrays that a collective sends together."""
  bytes_per_device: int
  op: str
  source: str
  reason: str


@dataclasses.dataclass(frozen=True)
class Collective:
  """One communication of the partitioned program."""
  name: str  # of StableHLO: all_reduce, all_gather, reduce_scatter, all_to_all, ...
  axes: tuple[str, ...]  # mesh axes it runs over
  group_size: int  # devices that take part together
  bytes_per_device: int  # sent by each device, each time
  seconds: float  # estimated on the links of the devices
  times: int | None  # how often in a run; None where a condition decides
  op: str  # the op of the program that needs it
  source: str
  reason: str
  # Of small collectives that became one, each by itself (op, source and reason are the first one's); else empty.
  parts: tuple[CollectivePart, ...] = ()


@dataclasses.dataclass(frozen=True)
class Note:
  """Padding, fallbacks and full gathers; a warning costs more than the array itself."""
  warning: bool
  op: str
  source: str
  text: str
  remedy: str


@dataclasses.dataclass(frozen=True)
class Cost:
  """Of one device, for one run."""
  flops: float
  bytes_accessed: int
  communication_bytes: int  # sent
  communication_seconds: float  # estimated
  arena_bytes: int  # temporaries, all devices together


@dataclasses.dataclass(frozen=True)
class Plan:
  """How Tessera runs a program: str() is the text for people."""
  devices: str  # that it was planned for; empty: those of this process
  mesh: dict[str, int] | None  # sizes of its axes in order; None for a program of one device
  device_ids: tuple[int, ...]  # by position of the mesh, row-major
  inputs: tuple[Value, ...]
  outputs: tuple[Value, ...]
  collectives: tuple[Collective, ...]  # in program order
  notes: tuple[Note, ...]
  cost: Cost
  steps: int  # kernels, library calls and collectives that run one after the other
  text: str

  def __str__(self) -> str:
    return self.text

  def to_dict(self) -> dict[str, Any]:
    """All of it as dicts, lists and numbers, for json.dumps."""
    return dataclasses.asdict(self)


def from_json(data: dict[str, Any], input_names: list[str], output_names: list[str]) -> Plan:
  """The plan that the library says (plugin/explain.h)."""
  mesh = data['mesh']

  def values(entries: list[dict[str, Any]], names: list[str]) -> tuple[Value, ...]:
    # Arguments that the program does not use are not in it; names that do not fit are left out.
    known = names if len(names) == len(entries) else [''] * len(entries)
    return tuple(Value(name, e['dtype'], tuple(e['shape']), e['spec']) for name, e in zip(known, entries))

  def collective(entry: dict[str, Any]) -> Collective:
    return Collective(**entry | {'axes': tuple(entry['axes']), 'parts': tuple(CollectivePart(**p) for p in entry['parts'])})

  return Plan(
      devices=data['devices'],
      mesh=dict(map(tuple, mesh['axes'])) if mesh else None,
      device_ids=tuple(mesh['device_ids']) if mesh else (0,),
      inputs=values(data['inputs'], input_names),
      outputs=values(data['outputs'], output_names),
      collectives=tuple(map(collective, data['collectives'])),
      notes=tuple(Note(**note) for note in data['notes']),
      cost=Cost(**data['cost']),
      steps=data['steps'],
      text=data['text'])
