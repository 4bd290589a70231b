-- The mean over rows of -ln(share of the slice that has the row's cluster and label).
-- views: _contingency.sql
SELECT slice, in_base(avg(-ln(shared / n))) AS value
FROM counted
GROUP BY slice
