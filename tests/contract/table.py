"""The table class x check that a run of the contract prints at its end, under xdist too.

Each test carries (class, area, check) in its user properties, which workers send with reports.
One line per class, one column per area (a test module); `-v` prints every check on its own line.
"""

from collections import defaultdict

SIGNS = {"passed": ".", "failed": "F", "error": "F", "skipped": "s", "xfailed": "e", "xpassed": "F"}


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    results, seconds = collect(terminalreporter)
    if not results:
        return
    write = terminalreporter.write_line
    terminalreporter.section("contract: class x check")
    for line in area_table(results, seconds):
        write(line)
    if config.get_verbosity() > 0:
        for line in check_table(results):
            write(line)
    for line in remarks(results):
        write(line)


def collect(terminalreporter):
    """{class: {area: {check: [(sign, remark)]}}} and processor seconds per class."""
    results = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    seconds = defaultdict(float)
    for outcome, sign in SIGNS.items():
        for report in terminalreporter.stats.get(outcome, []):
            properties = dict(getattr(report, "user_properties", ()))
            if "contract" in properties:
                name, area, check = properties["contract"]
                results[name][area][check].append((sign, remark(report)))
                seconds[name] += properties.get("processor", 0.0)
    return results, seconds


def remark(report) -> str:
    if hasattr(report, "wasxfail"):
        return report.wasxfail.removeprefix("reason: ")
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return ""


def area_table(results, seconds):
    areas = sorted({area for areas in results.values() for area in areas})
    cells = {name: [cell(results[name].get(area)) for area in areas] for name in results}
    widths = [
        max(len(area), *(len(row[i]) for row in cells.values())) for i, area in enumerate(areas)
    ]
    left = max(len(name) for name in results)
    yield "  ".join(["class".ljust(left), *(a.rjust(w) for a, w in zip(areas, widths)), "seconds"])
    for name in sorted(results):
        row = (value.rjust(width) for value, width in zip(cells[name], widths))
        yield "  ".join([name.ljust(left), *row, f"{seconds[name]:7.1f}"])


def cell(checks) -> str:
    """Passed of all, exempt ones marked: `12`, `11/12`, `11+1e`."""
    if not checks:
        return "-"
    signs = [sign for found in checks.values() for sign, _ in found]
    exempt, failed = signs.count("e"), signs.count("F")
    passed = str(signs.count("."))
    if failed:
        passed += f"/{len(signs)}"
    return passed + (f"+{exempt}e" if exempt else "")


def check_table(results):
    """One line per check, one column per class: . passed  F failed  e exempt  s skipped."""
    classes = sorted(results)
    for number, name in enumerate(classes, 1):
        yield f"{number:3d} {name}"
    checks = sorted({(a, c) for areas in results.values() for a in areas for c in areas[a]})
    left = max(len(check) for _, check in checks)
    yield " " * (left + 2) + "".join(str(n % 10) for n in range(1, len(classes) + 1))
    for area, check in checks:
        row = (results[name][area].get(check) for name in classes)
        yield check.ljust(left + 2) + "".join(worst(found) for found in row)


def worst(found) -> str:
    signs = {sign for sign, _ in found or ()}
    return next((sign for sign in "Fes." if sign in signs), " ")


def remarks(results):
    """Every exemption and skip with its reason; failures stand in pytest's own report."""
    words = {"e": "exempt", "s": "skipped"}
    for name in sorted(results):
        for area, checks in results[name].items():
            for check, found in checks.items():
                for sign, text in dict.fromkeys(found):
                    if sign in words:
                        yield f"{words[sign]}: {name} x {area}.{check}: {text}"
