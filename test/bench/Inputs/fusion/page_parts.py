"""Pieces that the sections of the page share."""


def ms(seconds):
    return f"{seconds * 1e3:,.3f}"


def percent(part):
    return f"{100 * part:.1f}"


def gb(size):
    return f"{size / 1e9:.2f}"


def commands(lines):
    return "\n```sh\n" + "\n".join(lines) + "\n```\n"


def ran(data, part):
    """The command that made a part, and when and where."""
    about = data["settings"][part]
    only = f" -only '{about['only']}'" if about["only"] else ""
    joined = ", joined with rows of an earlier run" if about["joined"] else ""
    return (
        f"`test/bench/fusion BUILD -parts {part}{only}`{joined}, on {about['date']}, {about['machine']}; load when it began: "
        f"{about['load']:.1f} processes, when it ended: {about['load_after']:.1f}."
    )
