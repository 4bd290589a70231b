-- One less the share of the clusters' entropy that is left when the label is told; 1 where clusters
-- have none.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, cluster, label, row_number() OVER () AS id
    FROM (SELECT slice, cluster, label, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL AND label IS NOT NULL
),
named AS (
    SELECT slice, id, label,
           CASE WHEN cluster = getvariable('noise') THEN 'row ' || id
                ELSE 'cluster ' || cluster::VARCHAR END AS cluster
    FROM unit
),
counted AS (
    SELECT slice,
           count(*) OVER (PARTITION BY slice) AS n,
           count(*) OVER (PARTITION BY slice, cluster) AS in_cluster,
           count(*) OVER (PARTITION BY slice, label) AS of_label,
           count(*) OVER (PARTITION BY slice, cluster, label) AS shared
    FROM named
),
found AS (
    SELECT slice,
           avg(-ln(in_cluster / n)) AS of_clusters,
           avg(-ln(of_label / n)) AS of_labels,
           avg(-ln(shared / n)) AS jointly,
           avg(-ln(shared / in_cluster)) AS labels_told,
           avg(-ln(shared / of_label)) AS clusters_told,
           bool_and(shared = in_cluster AND shared = of_label) AS same
    FROM counted
    GROUP BY slice
)
SELECT every.slice, CASE WHEN of_clusters = 0 THEN 1 ELSE 1 - clusters_told / of_clusters END AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN found AS found ON found.slice IS NOT DISTINCT FROM every.slice
