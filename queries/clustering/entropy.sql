-- The mean over rows of the surprise at their cluster; labels play no part.
WITH unit AS (
    SELECT slice, cluster, row_number() OVER () AS id
    FROM (SELECT slice, cluster, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL
),
named AS (
    SELECT slice,
           CASE WHEN cluster = getvariable('noise') THEN 'row ' || id
                ELSE 'cluster ' || cluster::VARCHAR END AS cluster
    FROM unit
),
counted AS (
    SELECT slice, count(*) OVER (PARTITION BY slice, cluster)
                  / count(*) OVER (PARTITION BY slice) AS share
    FROM named
),
found AS (
    SELECT slice, avg(-ln(share)) AS nats FROM counted GROUP BY slice
)
SELECT every.slice, nats / ln(coalesce(getvariable('base'), exp(1))) AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN found AS found ON found.slice IS NOT DISTINCT FROM every.slice
