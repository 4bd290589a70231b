-- The mean over rows of -ln(share of the row's cluster that has its label) - ln(share of the rows
-- of its label that are in its cluster).
-- views: _contingency.sql
SELECT slice, in_base(avg(-ln(shared / in_cluster) - ln(shared / of_label))) AS value
FROM counted
GROUP BY slice
