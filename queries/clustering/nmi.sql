-- Mutual information over a mean of the entropies of clusters and labels. 1 for the same partition,
-- else 0 where the mutual information is 0.
-- views: _contingency.sql
WITH found AS (
    SELECT slice, bool_and(shared = in_cluster AND shared = of_label) AS same,
           avg(-ln(of_label / n)) - avg(-ln(shared / in_cluster)) AS common,
           mean_entropy(avg(-ln(in_cluster / n)), avg(-ln(of_label / n)), avg(-ln(shared / n)),
                        'geometric') AS scale
    FROM counted
    GROUP BY slice
)
SELECT slice,
       CASE WHEN same THEN 1 WHEN abs(common) < 1e-14 OR scale = 0 THEN 0 ELSE common / scale END AS value
FROM found
