"""What a user calls: scoring results, and scores with their analyses, reports and files.

It is above everything else but the command line: scores, statistics, reports and benchmarks do not import it.
"""
