"""The errors of virtual time as a figure."""

from html import escape

ROW, LEFT, WIDTH, MOST = 18, 190, 460, 45
COLOURS = {"plain": "#d55e00", "tcp": "#0072b2"}
NAMES = {"plain": "default network", "tcp": "with framing, slow start and fair sharing"}


def drawn(rows, near, far):
    """A row for each configuration; bands of the errors that are aimed at."""

    def x(percent):
        return LEFT + WIDTH / 2 + max(-MOST, min(MOST, percent)) * WIDTH / 2 / MOST

    bottom = 40 + ROW * len(rows)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{bottom + 62}"'
        ' font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for most, grey in ((far, "#eeeeee"), (near, "#d8d8d8")):
        left = x(-most)
        out.append(f'<rect x="{left:.1f}" y="30" width="{x(most) - left:.1f}" height="{bottom - 30}" fill="{grey}"/>')
    for tick in range(-40, 41, 10):
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{bottom}" y2="{bottom + 5}" stroke="black"/>')
        out.append(f'<text x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{tick}</text>')
    out.append(f'<line x1="{x(0):.1f}" x2="{x(0):.1f}" y1="30" y2="{bottom}" stroke="black"/>')
    out.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{bottom}" y2="{bottom}" stroke="black"/>')
    for i, row in enumerate(rows):
        y = 40 + ROW * i + ROW / 2
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(row["configuration"])}</text>')
        for name, colour in COLOURS.items():
            error = row[f"{name}_round_error_percent"]
            shape = f'r="{4 if name == "tcp" else 3.5}" fill="{colour if name == "tcp" else "none"}" stroke="{colour}"'
            out.append(f'<circle cx="{x(error):.1f}" cy="{y:.1f}" {shape}/>')
            if abs(error) > MOST:
                out.append(f'<text x="{x(error) + (8 if error < 0 else -44):.1f}" y="{y + 4:.1f}">{error:.0f} %</text>')
    for name, at in (("plain", LEFT), ("tcp", LEFT + 130)):
        fill = COLOURS[name] if name == "tcp" else "none"
        out.append(f'<circle cx="{at}" cy="16" r="4" fill="{fill}" stroke="{COLOURS[name]}"/>')
        out.append(f'<text x="{at + 9}" y="20">{NAMES[name]}</text>')
    axis = "error of the simulated round time (%)"
    out.append(f'<text x="{LEFT + WIDTH / 2}" y="{bottom + 42}" text-anchor="middle">{axis}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
