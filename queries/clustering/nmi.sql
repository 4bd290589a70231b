-- What clusters and labels have in common, entropies less what is left of them, over a mean of the
-- two entropies. 1 for the same partition, else 0 where nothing is in common.
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
scaled AS (
    SELECT *, of_labels - labels_told AS common,
           CASE coalesce(getvariable('average'), 'geometric')
                WHEN 'geometric' THEN sqrt(of_clusters * of_labels)
                WHEN 'arithmetic' THEN (of_clusters + of_labels) / 2
                WHEN 'min' THEN least(of_clusters, of_labels)
                WHEN 'max' THEN greatest(of_clusters, of_labels)
                WHEN 'joint' THEN jointly
           END AS scale
    FROM found
)
SELECT every.slice, 
       CASE WHEN same THEN 1
            WHEN abs(common) < 1e-14 OR scale = 0 THEN CASE WHEN same = false THEN 0 END
            ELSE common / scale END AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN scaled AS found ON found.slice IS NOT DISTINCT FROM every.slice
