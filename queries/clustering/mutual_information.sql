-- The mean over rows of the logarithm of how much more often their cluster and label occur together
-- than they would if they were independent.
-- views: _contingency.sql
SELECT slice, in_base(avg(ln(shared * n / (in_cluster * of_label)))) AS value
FROM counted
GROUP BY slice
