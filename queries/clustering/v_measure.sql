-- The harmonic mean of homogeneity h and completeness c, where c has beta times the weight of h.
-- views: _contingency.sql
WITH entropies AS (
    SELECT slice, avg(-ln(of_label / n)) AS of_labels, avg(-ln(shared / in_cluster)) AS labels_left,
           avg(-ln(in_cluster / n)) AS of_clusters, avg(-ln(shared / of_label)) AS clusters_left
    FROM counted
    GROUP BY slice
),
shares AS (
    SELECT slice, CASE WHEN of_labels = 0 THEN 1 ELSE 1 - labels_left / of_labels END AS h,
           CASE WHEN of_clusters = 0 THEN 1 ELSE 1 - clusters_left / of_clusters END AS c,
           coalesce(getvariable('beta'), 1) AS beta
    FROM entropies
)
SELECT slice,
       CASE WHEN abs(h) < 1e-14 OR abs(c) < 1e-14 THEN 0
            WHEN beta = 0 THEN h
            WHEN h IS NOT NULL THEN (1 + beta) / (1 / h + beta / c) END AS value
FROM shares
