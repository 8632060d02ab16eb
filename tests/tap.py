"""TAP from Python: ok(condition, name, details...), equal(found, wanted, name), skip(name, why), done(). has_terminals(), and plain(path),
for what takes paths apart at spaces: of a checkout in a folder that has some."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
count = failures = 0


def ok(condition, name, *details):
    global count, failures
    count += 1
    failures += not condition
    print(f"{'ok' if condition else 'not ok'} {count} - {name}")
    if not condition:
        for detail in details:
            for line in str(detail).splitlines():
                print('#', line)
    sys.stdout.flush()
    return bool(condition)


def equal(found, wanted, name):
    return ok(found == wanted, name, f'found:  {found!r}', f'wanted: {wanted!r}')


def skip(name, why):
    global count
    count += 1
    print(f'ok {count} - {name} # SKIP {why}')


def has_terminals():
    """Can programs be shown a terminal? A bare root without /dev/pts has none."""
    try:
        for end in os.openpty():
            os.close(end)
    except OSError:
        return False
    return True


links = []  # folders that go when the script ends


def plain(path):
    """The absolute path; with a space in it, a link to it elsewhere."""
    path = os.path.abspath(path)
    if ' ' not in path:
        return path
    links.append(tempfile.TemporaryDirectory(prefix='cgtpgen-link-'))
    os.symlink(path, f'{links[-1].name}/{os.path.basename(path)}')
    return f'{links[-1].name}/{os.path.basename(path)}'


def done():
    print(f'1..{count}')
    sys.exit(1 if failures else 0)
