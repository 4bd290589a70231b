-- 1 minus the share of the labels' entropy that is left once the clusters are known; 1 where the
-- labels have no entropy.
-- views: _contingency.sql
WITH found AS (
    SELECT slice, avg(-ln(of_label / n)) AS of_labels, avg(-ln(shared / in_cluster)) AS remaining
    FROM counted
    GROUP BY slice
)
SELECT slice, CASE WHEN of_labels = 0 THEN 1 ELSE 1 - remaining / of_labels END AS value
FROM found
