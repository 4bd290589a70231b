-- Jain's index of the absolute errors: (sum |e|)^2 / (n sum e^2). Undefined where all errors are 0.
SELECT slice,
       nullif(pow(sum(weight * abs(pred - label)), 2)
              / (sum(weight) FILTER (pred IS NOT NULL AND label IS NOT NULL)
                 * sum(weight * pow(pred - label, 2))), 'nan') AS value
FROM rows
GROUP BY slice
