#!/usr/bin/env python3
"""Compares the bytes that a device sends in Tessera's plan of a sharded program with those in XLA's plan.

  tests/jax/check_plans.py [WORD...] [--write] [--verbose] [--hlo FOLDER]

For each program of plan_programs.py, on 8 devices, it counts the bytes that a device sends and the collectives: in the HLO that XLA
compiles, and in tessera_jax.explain of the same function with the shardings of results that XLA chose. A collective in a loop counts
as often as it runs (once if Tessera does not know how often). If every device reads only its own part of an all_reduce, it is counted
as a reduce_scatter. Needs JAX 0.10.2 and the plugin (TESSERA_PJRT). --write puts the table into docs/plans.md.
"""
import argparse
import dataclasses
import math
import pathlib
import re
import sys
import traceback

import jax
from jax.sharding import NamedSharding, PartitionSpec as P

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {'pred': 1, 's4': 1, 'u4': 1, 's8': 1, 'u8': 1, 's16': 2, 'u16': 2, 'bf16': 2, 'f16': 2, 's32': 4, 'u32': 4,
         'f32': 4, 's64': 8, 'u64': 8, 'f64': 8, 'c64': 8, 'c128': 16, 'token': 0}
INSTRUCTION = re.compile(r'^\s*(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*)$')
COLLECTIVES = {'all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all', 'collective-permute', 'collective-broadcast',
               'ragged-all-to-all'}


@dataclasses.dataclass
class Instruction:
  name: str
  type: str
  op: str
  operands: list
  attributes: str


def bytes_of(type):
  return sum(SIZES[dtype] * math.prod(int(d) for d in dims.split(',') if d)
             for dtype, dims in re.findall(r'(\w+)\[([\d,]*)\]', type))


def read_hlo(text):
  """Returns {computation: [Instruction]} and the entry's name."""
  computations, entry, lines = {}, None, None
  for line in text.splitlines():
    head = re.match(r'^(ENTRY )?%?([\w.-]+) \(.*\) -> .* \{$', line)
    if head:
      lines = computations[head.group(2)] = []
      entry = head.group(2) if head.group(1) else entry
    elif lines is not None and (found := INSTRUCTION.match(line)):
      name, type, op, rest = found.groups()
      inside = rest[:closing(rest)]
      lines.append(Instruction(name, type, op, re.findall(r'%([\w.-]+)', inside), rest[len(inside):]))
  return computations, entry


def closing(rest):
  depth = 1
  for i, c in enumerate(rest):
    depth += {'(': 1, ')': -1}.get(c, 0)
    if depth == 0:
      return i
  return len(rest)


def group_size(attributes, devices):
  if found := re.search(r"replica_groups=mesh\[([^\]]*)\]\s*\{([^}]*)\}", attributes):
    sizes = {name: int(size) for name, size in re.findall(r"'(\w+)'=(\d+)", found.group(1))}
    return math.prod(int(part) if part else sizes[name]
                     for name, part in re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", found.group(2)))
  if found := re.search(r'replica_groups=\[(\d+),(\d+)\]', attributes):
    return int(found.group(2))
  if found := re.search(r'replica_groups=\{\{([\d,]+)\}', attributes):
    return found.group(1).count(',') + 1
  return devices


def only_sliced(name, instructions, computations, part):
  """Returns whether all instructions that read it are slices of at most `part` bytes."""
  users = [i for i in instructions if name in i.operands]
  def sliced(user):
    if user.op in ('dynamic-slice', 'slice'):
      return bytes_of(user.type) <= part
    if user.op in ('get-tuple-element', 'bitcast', 'reshape', 'copy'):
      return only_sliced(user.name, instructions, computations, part)
    if user.op == 'fusion':
      inner = computations[re.search(r'calls=%?([\w.-]+)', user.attributes).group(1)]
      return all(only_sliced(parameter(inner, k), inner, computations, part)
                 for k, operand in enumerate(user.operands) if operand == name)
    return False
  return bool(users) and all(sliced(u) for u in users)


def parameter(instructions, index):
  return next(i.name for i in instructions if i.op == 'parameter' and i.index == index)


def cost_of_hlo(text, devices, with_trips):
  """Returns (bytes that a device sends, collectives in the text, {op: bytes})."""
  computations, entry = read_hlo(text)
  for instructions in computations.values():
    for i in instructions:
      if i.op == 'parameter':
        i.index = int(re.search(rf'%?{re.escape(i.name)} = .*? parameter\((\d+)\)', text).group(1))
  kinds = {}

  def visit(name, times):
    total, count = 0, 0
    for i in computations[name]:
      op = i.op.removesuffix('-start')
      if op in COLLECTIVES:
        g = group_size(i.attributes, devices)
        result = bytes_of(i.type)
        if i.op.endswith('-start') and op != 'all-reduce':
          result /= 2  # a pair of operand and result
        if op == 'all-reduce':
          part = result / g
          sent = (1 if only_sliced(i.name, computations[name], computations, part) else 2) * (g - 1) / g * result
        elif op in ('all-gather', 'all-to-all', 'ragged-all-to-all'):
          sent = (g - 1) / g * result
        elif op == 'reduce-scatter':
          sent = (g - 1) * result
        else:
          sent = result
        sent = sent if g > 1 or op == 'collective-permute' else 0
        total += sent
        count += 1
        kinds[op] = kinds.get(op, 0) + sent * times
        continue
      called = re.findall(r'(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.-]+)', i.attributes)
      if found := re.search(r'branch_computations=\{([^}]*)\}', i.attributes):
        called += re.findall(r'%?([\w.-]+)', found.group(1))
      if i.op in ('reduce', 'sort', 'scatter', 'reduce-window', 'map', 'select-and-scatter'):
        continue
      repeats = 1
      if i.op == 'while':
        found = re.search(r'known_trip_count[^\d]*(\d+)', i.attributes)
        repeats = int(found.group(1)) if found and with_trips else 1
      for one in called:
        t, c = visit(one, times * repeats)
        total += t * repeats
        count += c
    return total, count
  total, count = visit(entry, 1)
  return total, count, kinds


def check(program, explain):
  """Returns (XLA's bytes, XLA's collectives, Tessera's bytes, Tessera's collectives, the plan, the HLO)."""
  is_spec = lambda s: isinstance(s, P)
  out = {} if program.out is None else {'out_shardings': jax.tree.map(
      lambda s: NamedSharding(program.mesh, s), program.out, is_leaf=is_spec)}
  compiled = jax.jit(program.function, **out).lower(*program.arguments).compile()
  text = compiled.as_text()
  jitted = jax.jit(program.function, out_shardings=compiled.output_shardings)
  plan = explain(jitted, *program.arguments)
  counted = all(c.times is not None for c in plan.collectives)
  theirs = cost_of_hlo(text, program.mesh.size, counted)
  sent = sum(c.bytes_per_device * (c.times if counted else 1) for c in plan.collectives)
  return theirs[0], theirs[1], sent, len(plan.collectives), plan, text


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('words', nargs='*')
  parser.add_argument('--write', action='store_true')
  parser.add_argument('--verbose', action='store_true')
  parser.add_argument('--hlo', type=pathlib.Path)
  args = parser.parse_args()
  jax.config.update('jax_platforms', 'cpu')
  jax.config.update('jax_num_cpu_devices', 8)
  import plan_programs
  import tessera_jax
  rows = []
  for program in plan_programs.programs():
    label = f'{program.family}/{program.name}'
    if args.words and not any(word in label for word in args.words):
      continue
    try:
      xla, xla_count, ours, count, plan, text = check(program, tessera_jax.explain)
    except Exception as e:
      print(f'FAILED  {label}: {str(e).strip().splitlines()[0][:200]}', flush=True)
      if args.verbose:
        traceback.print_exc()
      rows.append((label, None))
      continue
    more = ours > 1.001 * xla + 0.5
    mark = 'WORSE' if more else 'better' if ours < 0.999 * xla - 0.5 else 'equal'
    mark += ' count' if count > xla_count + 2 else ''
    rows.append((label, xla, xla_count, ours, count, mark))
    print(f'{mark:12} {label:42} XLA {xla:10.0f} B {xla_count:3}   ours {ours:10.0f} B {count:3}', flush=True)
    if args.verbose:
      print(plan)
    if args.hlo:
      args.hlo.mkdir(parents=True, exist_ok=True)
      (args.hlo / (label.replace('/', '_') + '.txt')).write_text(f'{plan}\n\n{text}')
  done = [r for r in rows if r[1] is not None]
  marks = [r[5].split()[0] for r in done]
  print(f'{len(done)} programs: {marks.count("equal")} equal, {marks.count("better")} better, '
        f'{marks.count("WORSE")} worse; {sum("count" in r[5] for r in done)} with over two collectives more; '
        f'{len(rows) - len(done)} failed')
  if args.write:
    write(done)
  return 1 if 'WORSE' in marks or len(done) < len(rows) else 0


def write(rows):
  """Writes the table of docs/plans.md."""
  lines = ['| program | sent by XLA\'s plan | by Tessera\'s | collectives of XLA | of Tessera |', '|---|---:|---:|---:|---:|']
  for label, xla, xla_count, ours, count, mark in rows:
    ours_text = f'**{ours:,.0f}**' if mark.startswith('WORSE') else f'{ours:,.0f}'
    lines.append(f'| {label} | {xla:,.0f} | {ours_text} | {xla_count} | {count} |')
  marks = [row[5].split()[0] for row in rows]
  summary = (f'Of {len(rows)} programs {marks.count("equal")} send as much as XLA\'s, {marks.count("better")} less, '
             f'{marks.count("WORSE")} more (bold); {sum("count" in row[5] for row in rows)} have over two collectives more.')
  page = ROOT / 'docs/plans.md'
  begin, end = '<!-- plans -->', '<!-- end -->'
  before, rest = page.read_text().split(begin, 1)
  page.write_text(before + begin + '\n' + summary + '\n\n' + '\n'.join(lines) + '\n' + end + rest.split(end, 1)[1])


if __name__ == '__main__':
  sys.exit(main())
