-- What clusters and labels have in common beyond its mean over all tables with the same margins, over a
-- mean of the entropies beyond the same. The mean takes every count that a cell can have with its
-- hypergeometric probability.
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
),
clusters AS (
    SELECT slice, cluster, count(*) AS a FROM named GROUP BY slice, cluster
),
labels AS (
    SELECT slice, label, count(*) AS b FROM named GROUP BY slice, label
),
sizes AS (
    SELECT slice, count(*) AS n FROM named GROUP BY slice
),
crossed AS (
    SELECT slice, a, b, n, unnest(range(greatest(1, a + b - n), least(a, b) + 1)) AS x
    FROM clusters
    JOIN labels USING (slice)
    JOIN sizes USING (slice)
    UNION ALL
    SELECT NULL, a, b, n, unnest(range(greatest(1, a + b - n), least(a, b) + 1))
    FROM (SELECT a FROM clusters WHERE slice IS NULL),
         (SELECT b FROM labels WHERE slice IS NULL),
         (SELECT n FROM sizes WHERE slice IS NULL)
),
chance AS (
    SELECT slice,
           sum(x / n * ln(n * x / (a * b)) * exp(
               lgamma(a + 1) + lgamma(b + 1) + lgamma(n - a + 1) + lgamma(n - b + 1)
               - lgamma(n + 1) - lgamma(x + 1) - lgamma(a - x + 1) - lgamma(b - x + 1)
               - lgamma(n - a - b + x + 1)
           )) AS expected
    FROM crossed
    GROUP BY slice
),
alone AS (
    -- Where a side is all apart, chance always gives what was found.
    SELECT slice, max(a) = 1 AS apart FROM clusters GROUP BY slice
    UNION ALL
    SELECT slice, max(b) = 1 FROM labels GROUP BY slice
),
scaled AS (
    SELECT found.slice, same, of_labels - labels_told - expected AS beyond,
           of_clusters = 0 OR of_labels = 0 OR EXISTS (
               FROM alone WHERE apart AND alone.slice IS NOT DISTINCT FROM found.slice
           ) AS fixed,
           CASE coalesce(getvariable('average'), 'arithmetic')
                WHEN 'geometric' THEN sqrt(of_clusters * of_labels)
                WHEN 'arithmetic' THEN (of_clusters + of_labels) / 2
                WHEN 'min' THEN least(of_clusters, of_labels)
                WHEN 'max' THEN greatest(of_clusters, of_labels)
           END - expected AS scale
    FROM found
    JOIN chance ON chance.slice IS NOT DISTINCT FROM found.slice
)
SELECT every.slice, CASE WHEN same THEN 1 WHEN fixed THEN 0 ELSE beyond / scale END AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN scaled AS found ON found.slice IS NOT DISTINCT FROM every.slice
