-- 1 minus the share of the clusters' entropy that is left once the labels are known; 1 where the
-- clusters have no entropy.
-- views: _contingency.sql
WITH found AS (
    SELECT slice, avg(-ln(in_cluster / n)) AS of_clusters, avg(-ln(shared / of_label)) AS remaining
    FROM counted
    GROUP BY slice
)
SELECT slice, CASE WHEN of_clusters = 0 THEN 1 ELSE 1 - remaining / of_clusters END AS value
FROM found
