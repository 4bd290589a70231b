-- The mean over rows of the surprise at their cluster and label together.
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
    SELECT slice, avg(-ln(shared / n)) AS nats FROM counted GROUP BY slice
)
SELECT every.slice, nats / ln(coalesce(getvariable('base'), exp(1))) AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN found AS found ON found.slice IS NOT DISTINCT FROM every.slice
