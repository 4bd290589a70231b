-- Average precision: the mean, over the positive rows, of the precision among the rows whose bin is
-- as high or higher.
WITH binned AS (
    -- the highest edge that a score reaches; with exact scores, the score itself
    SELECT slice, "group", label, weight, score,
           CASE WHEN exact THEN score
                ELSE list_max(list_filter(edges, lambda e: e <= score)) END AS low,
           NOT exact AND low < list_max(edges) AS wide
    FROM rows, (SELECT coalesce(getvariable('bins'),
                                list_transform(range(1001), lambda i: i / 1000))::DOUBLE[] AS edges)
    WHERE score IS NOT NULL AND label IS NOT NULL AND weight > 0
),
precisions AS (
    SELECT p.slice, p.weight,
           (SELECT sum(r.weight * r.label::INT) / sum(r.weight) FROM binned AS r
            WHERE r.slice IS NOT DISTINCT FROM p.slice AND r.low >= p.low) AS precision
    FROM binned AS p
    WHERE p.label
)
SELECT everyone.slice, sum(weight * precision) / sum(weight) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN precisions ON precisions.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
