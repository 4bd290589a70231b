-- The area between the ROC curves of two groups. It is cut into strips at every false positive rate at
-- which one of the curves bends: in a strip both curves are straight lines. Of all comparisons the
-- largest.
-- views: _groups.sql
-- views: _scores.sql
-- compared: bool_or(label AND score IS NOT NULL AND weight > 0) AND bool_or(NOT label AND score IS NOT NULL AND weight > 0)
WITH strips AS (
    SELECT slice, a, b, x, lead(x) OVER (PARTITION BY slice, a, b ORDER BY x) AS next
    FROM (SELECT DISTINCT slice, a, b, unnest([0, fpr]) AS x FROM roc_pieces)
),
gaps AS (
    -- how far the curve of a is above that of b, at the left and the right end of the strip
    SELECT s.slice, s.a, s.b, next - x AS width,
           sum(side * (tpr0 + (tpr - tpr0) * (x - fpr0) / (fpr - fpr0))) AS d0,
           sum(side * (tpr0 + (tpr - tpr0) * (next - fpr0) / (fpr - fpr0))) AS d1
    FROM strips AS s
    JOIN roc_pieces AS r
        ON r.slice IS NOT DISTINCT FROM s.slice AND r.a = s.a AND r.b IS NOT DISTINCT FROM s.b
        AND fpr0 <= x AND x < next AND next <= fpr
    GROUP BY s.slice, s.a, s.b, x, next
    HAVING count(tpr) = 2
),
areas AS (
    SELECT slice, sum(width * CASE WHEN d0 * d1 >= 0 THEN abs(d0 + d1) / 2
                                   ELSE (d0 * d0 + d1 * d1) / (2 * abs(d0 - d1)) END) AS area
    FROM gaps
    GROUP BY slice, a, b
)
SELECT slices.slice, max(area) AS value
FROM slices LEFT JOIN areas ON areas.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
