-- The mean over rows of -ln(share of the row's cluster that has the row's label).
-- views: _contingency.sql
SELECT slice, in_base(avg(-ln(shared / in_cluster))) AS value
FROM counted
GROUP BY slice
