"""Everything that touches Jupyter, processes or the disk layout of reports."""
