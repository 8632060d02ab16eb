"""What the machine code of a kernel holds in its hot loops, from nvdisasm's text of a cubin: functions(text).

**A loop** is a set of instructions of which each can be reached from each (a strongly connected part of the flow of
control); the loops within it are what is left when nothing returns to where it is entered. So a loop has what the assembler
puts behind the rest of the kernel, too, but for the branch that is taken where lanes of a warp have parted (BRA.DIV).

**A hot loop.** Kernels have one loop over tiles or receivers around others: over edges, over channels, waits for a barrier,
copies. What takes the time is arithmetic (FMAs, products of matrices and their like), so hot loops are found from outside to
inside: as long as the loops within a loop have half of its arithmetic or more, it is they that are looked at, else it is
hot. A kernel whose path sets or phases have loops of their own has several; one with less than a twentieth of the function's
arithmetic in loops is not looked at. A hot loop counts all its instructions, those of waits and copies within it too, but for NOPs.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

ARITHMETIC = re.compile(r'(FFMA|FMUL|FADD|DFMA|DMUL|DADD|HMMA|DMMA)\b')
LINE = re.compile(r'\s+/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+ +)?([A-Z][\w.]*)(.*?);')
ENDS = ('EXIT', 'RET', 'KILL', 'BPT')
HALF, LEAST = 0.5, 0.05


def short_name(mangled):
    """Of a kernel, without namespaces, of which some have names of one compilation alone."""
    plain = subprocess.run(['c++filt', mangled], stdout=subprocess.PIPE, text=True).stdout.strip()
    return re.sub(r'.*?(\w+(<[^(]*?>)?)\((?!anonymous).*', r'\1', plain, flags=re.S)


def disassembler():
    """nvdisasm's path: from the environment, among programs, CUDA's own, or PyPI's nvidia-cuda-nvdisasm; None: nowhere."""
    folders = ['/usr/local/cuda/bin', *(found for path in sys.path for found in glob.glob(f'{path}/nvidia/*/bin'))]
    there = (os.environ.get('NVDISASM'), shutil.which('nvdisasm'), *(f'{folder}/nvdisasm' for folder in folders))
    return next((path for path in there if path and os.path.exists(path)), None)


def disassemble(path):
    """It takes a third of a second; the text is kept beside the cubin, under what that was. Where an indirect branch goes only
    its analysis of the flow of data (which -ndf leaves out) finds."""
    with open(path, 'rb') as file:
        of = hashlib.sha256(disassembler().encode() + file.read()).hexdigest() + '\n'
    if os.path.exists(f'{path}.sass'):
        with open(f'{path}.sass') as file:
            if file.readline() == of:
                return file.read()
    text = subprocess.run([disassembler(), '-c', path], check=True, stdout=subprocess.PIPE, text=True).stdout
    with open(f'{path}.sass', 'w') as file:
        file.write(of + text)
    return text


class Function:
    def __init__(self):
        self.line, self.label = [], {}  # (predicate, operation, operands); the number of the line that follows a label

    def next_of(self, number):
        """Where control goes from an instruction."""
        predicate, operation, operands = self.line[number]
        after = [number + 1] if number + 1 < len(self.line) else []
        if operation in ENDS or operation.split('.')[0] in ENDS:
            return after if predicate else []
        if not operation.startswith('BR') or operation.startswith('BRA.DIV') or operation == 'BREAK':
            return after
        to = [self.label[label] for label in re.findall(r'\.L_x_\d+', operands) if label in self.label]
        always = operation.startswith('BRX') or (not predicate and re.match(r'\s*`', operands))
        return to if always else after + to

    def reached(self):
        """next_of by number, of what control can reach."""
        found, waiting = {}, [0] if self.line else []
        while waiting:
            number = waiting.pop()
            if number not in found:
                found[number] = self.next_of(number)
                waiting += found[number]
        return found

    def arithmetic(self, loop):
        return sum(ARITHMETIC.match(self.line[number][1]) is not None for number in loop)

    def instructions(self, loop):
        return sum(self.line[number][1] != 'NOP' for number in loop)

    def hot(self):
        """(instructions, arithmetic ones) of the hot loops, as they begin in memory."""
        following, found = self.reached(), []
        outer = loops(set(following), following)
        least = LEAST * sum(map(self.arithmetic, outer))

        def look(loop):
            entries = {to for number in following.keys() - loop for to in following[number]} & loop or {min(loop)}
            within = loops(loop, {number: [to for to in following[number] if to not in entries] for number in loop})
            if within and sum(map(self.arithmetic, within)) >= HALF * self.arithmetic(loop):
                for one in within:
                    look(one)
            elif self.arithmetic(loop) > 0 and self.arithmetic(loop) >= least:
                found.append((min(loop), self.instructions(loop), self.arithmetic(loop)))

        for loop in outer:
            look(loop)
        return [counts for _, *counts in sorted(found)]


def loops(among, following):
    """Strongly connected parts of more than one instruction, or of one that follows itself (Tarjan's algorithm)."""
    order, low, path, on_path, found = {}, {}, [], set(), []
    for root in sorted(among):
        if root in order:
            continue
        calls = [(root, iter(following[root]))]
        order[root] = low[root] = len(order)
        path.append(root)
        on_path.add(root)
        while calls:
            number, rest = calls[-1]
            to = next((to for to in rest if to in among and (to not in order or to in on_path)), None)
            if to is None:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[number])
                if low[number] == order[number]:
                    at = path.index(number)
                    part, path = path[at:], path[:at]
                    on_path.difference_update(part)
                    if len(part) > 1 or number in following[number]:
                        found.append(set(part))
            elif to in order:
                low[number] = min(low[number], order[to])
            else:
                order[to] = low[to] = len(order)
                path.append(to)
                on_path.add(to)
                calls.append((to, iter(following[to])))
    return found


def functions(text):
    """By mangled name."""
    found, now, waiting = {}, None, []
    for line in text.splitlines():
        if line.startswith('.text.'):
            now, waiting = Function(), []
            found[line[len('.text.'):].rstrip(':')] = now
        elif line.startswith('.L_'):
            waiting.append(line.rstrip(': '))
        elif now and (match := LINE.match(line)):
            now.label.update(dict.fromkeys(waiting, len(now.line)))
            waiting = []
            now.line.append(match.groups())
    return found
