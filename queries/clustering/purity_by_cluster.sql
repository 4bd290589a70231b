-- The share of the rows of every cluster that have its commonest label.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, cluster, label, row_number() OVER () AS id
    FROM (SELECT slice, cluster, label, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL AND label IS NOT NULL
),
named AS (
    SELECT slice, id, label, cluster AS original,
           CASE WHEN cluster = getvariable('noise') THEN 'row ' || id
                ELSE 'cluster ' || cluster::VARCHAR END AS cluster
    FROM unit
),
cells AS (
    SELECT slice, original, cluster, label, count(*) AS shared,
           sum(count(*)) OVER (PARTITION BY slice, cluster) AS in_cluster,
           sum(count(*)) OVER (PARTITION BY slice, label) AS of_label
    FROM named
    GROUP BY slice, original, cluster, label
),
best AS (
    -- The commonest label of every cluster; of equals, the rarer one overall.
    SELECT slice, original, cluster, shared, in_cluster, of_label
    FROM cells
    QUALIFY row_number() OVER (PARTITION BY slice, cluster ORDER BY shared DESC, of_label) = 1
)
SELECT slice, original AS cluster, avg(shared / in_cluster) AS value
FROM best
GROUP BY slice, original
