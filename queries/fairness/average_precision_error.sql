-- Bound of the average precision: in every bin that has a width the positives may come first all at
-- once (highest), or after all negatives one by one (lowest: the precision integrated over them).
-- The larger of the two changes, summed over the bins.
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
bins AS (
    SELECT slice, low, wide, sum(weight) FILTER (label) AS p,
           coalesce(sum(weight) FILTER (NOT label), 0) AS q
    FROM binned
    GROUP BY ALL
),
above AS (
    SELECT b.*, coalesce(sum(a.p), 0) AS tp, coalesce(sum(a.q), 0) AS fp
    FROM bins AS b
    LEFT JOIN bins AS a ON a.slice IS NOT DISTINCT FROM b.slice AND a.low > b.low
    GROUP BY ALL
),
changes AS (
    SELECT slice, p, p * (tp + p) / (tp + p + fp + q) AS counted,
           CASE WHEN wide THEN p * (tp + p) / (tp + p + fp) ELSE counted END AS highest,
           CASE WHEN NOT wide THEN counted
                WHEN fp + q = 0 THEN p
                ELSE p - (fp + q) * ln((tp + p + fp + q) / (tp + fp + q)) END AS lowest
    FROM above
    WHERE p IS NOT NULL
)
SELECT everyone.slice,
       greatest(sum(highest - counted), sum(counted - lowest)) / sum(p) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN changes ON changes.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
