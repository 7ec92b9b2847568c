"""The plan of a program, as data and as text."""
from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Value:
  """An argument or a result of the program."""
  name: str  # JAX's name: "args[0]['kernel']"; empty if it is not known
  dtype: str
  shape: tuple[int, ...]  # the global shape
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
  name: str  # StableHLO's name: all_reduce, all_gather, reduce_scatter, all_to_all, ...
  axes: tuple[str, ...]  # the mesh axes over which it runs
  group_size: int  # how many devices communicate with each other
  bytes_per_device: int  # how many bytes each device sends each time
  seconds: float  # the time of one, estimated from the links of the devices
  times: int | None  # how often it runs in a run of the program; None if a condition decides
  op: str  # the op of the program that needs it
  source: str
  reason: str
  # If several small collectives were combined: each of them (op, source and reason above are the first one's). Else empty.
  parts: tuple[CollectivePart, ...] = ()


@dataclasses.dataclass(frozen=True)
class Note:
  """A note about padding, a fallback or a full gather. It is a warning if it costs more than the array itself."""
  warning: bool
  op: str
  source: str
  text: str
  remedy: str


@dataclasses.dataclass(frozen=True)
class Cost:
  """The cost of one run on one device."""
  flops: float
  bytes_accessed: int
  communication_bytes: int  # the bytes that it sends
  communication_seconds: float  # an estimate
  arena_bytes: int  # the memory of temporaries, of all devices together


@dataclasses.dataclass(frozen=True)
class Plan:
  """How Tessera runs a program; str(plan) is a readable text."""
  devices: str  # the devices for which it was planned; empty: those of this process
  mesh: dict[str, int] | None  # the sizes of the axes, in order; None for a program of one device
  device_ids: tuple[int, ...]  # the device at each position of the mesh, row-major
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
    """Returns the plan as dicts, lists and numbers, for json.dumps."""
    return dataclasses.asdict(self)


def from_json(data: dict[str, Any], input_names: list[str], output_names: list[str]) -> Plan:
  """Returns the Plan from the library's JSON (plugin/explain.h)."""
  mesh = data['mesh']

  def values(entries: list[dict[str, Any]], names: list[str]) -> tuple[Value, ...]:
    # If the numbers of names and values differ, it is not known which name is whose: names are left out.
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
