-- The mean over rows of -ln(share of the slice that is in the row's cluster). Labels are not read.
-- views: _contingency.sql
WITH shares AS (
    SELECT slice, count(*) OVER (PARTITION BY slice, part)
                  / count(*) OVER (PARTITION BY slice) AS share
    FROM units
)
SELECT slices.slice, in_base(avg(-ln(share))) AS value
FROM slices
LEFT JOIN shares ON shares.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
